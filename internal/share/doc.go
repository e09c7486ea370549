// Package share says who may take how much, and when: people has the requests, bytes and slots of
// each person, budget the quotas, pacer the turns of people at the rate limit of the API, and queue
// the places of calls that wait for a slot or for their turn.
//
// The wing may import base, but not question. Begin with Registry.Acquire in people/slots.go; the
// comments of queue, pacer and budget have their rules.
package share
