// Package share divides what people share:
//
//	people  the requests, bytes and slots of each person
//	budget  the quotas
//	pacer   the order of people at the rate limit of the API
//	queue   the places of calls that wait for a slot or for the rate limit
//
// It may import base, but not question. Begin with Registry.Acquire in people/slots.go; the
// comments of queue, pacer and budget have their rules.
package share
