// Package luakube runs one function of a Lua script safely, on Kubernetes objects.
//
// An [Engine] compiles a [Script] once; [Script.Call] runs it with objects as arguments and decodes the
// results. Objects enter as views, which pay only for what a script touches, and what it does not touch
// leaves exactly as it came.
//
// Why is source rewritten before it is compiled? The Lua machine concatenates, makes tables and compares
// without asking anybody. Rewriting those to checked functions, on the syntax tree, is what lets memory be
// bounded and large integers be numbers, with the machine left as it is.
//
// Why does a meter stand in for the context? The machine asks its context before every instruction. Counting
// there is exact, so a script that exceeds its budget does so on every machine alike.
//
// Why does a protected call run in a Lua thread of its own? An error detaches the captured variables of all
// functions that are active in its thread. Those outside of a pcall live on, and would be left with copies.
//
// Why are there no tail calls? The machine lists each of them in the trace of an error, so a long loop of them
// ends in hundreds of megabytes of text. They nest, and the call depth bounds them.
//
// Why does an integer beyond 2^53 equal the number it rounds to? It is exact and a Lua number is not, so a script
// that writes such an integer down has already rounded it.
//
// Why is a state dropped after an error? What an error leaves behind inside a state is the engine's business
// and has changed between its releases; making a state anew is cheap next to being wrong.
package luakube
