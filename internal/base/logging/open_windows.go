package logging

// safeOpen is 0: Windows has no such flags.
const safeOpen = 0
