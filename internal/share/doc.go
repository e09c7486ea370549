// Package share says who may take how much, and when: people has the requests, bytes and slots of
// each person, budget the quotas, and pacer the turns of people at the rate limit of the API.
//
// It may import base, but not question. Begin with Registry.Run in people/slots.go; the comments of
// pacer and budget have their rules.
package share
