// Package question makes a request of a question, and a cited answer of the response:
//
//	answer  the arguments, the request and the answer
//	cite    pages, dates and lists of sources
//	policy  the instructions to the model
//
// It may import base, but not share. Begin with Answerer.Ask in answer/answer.go, which has the
// steps of an answer.
package question
