// Package definition reads CustomResourceDefinitions for what they say about objects: which versions there are,
// what a version's fields are, how it is scaled, and what an API server would refuse.
//
// Reading one is cheap, because a controller may know hundreds of them and ask about few: schemas are decoded
// when somebody asks for the first time. Everything is immutable and safe for many goroutines then.
//
// Validation is the API server's own code, so that a verdict here is the verdict there. It is slow for what most
// objects are, sound; a quick check finds those first.
//
// [Guard] has the answers of rules validated.
package definition
