package logging

// inPlace is 0: Windows has no such flags.
const inPlace = 0
