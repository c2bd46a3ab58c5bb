// Package bound refuses what a client sends if it would cost far more than its size: it looks
// at the bytes before anything else computes with them. No real object has what it refuses.
//
//   - Quantities (quantity.go): apimachinery compares 1e20000000 with 1 by writing out twenty
//     million zeros, and nothing can interrupt that.
//   - Depth (depth.go, wire.go): parsers descend, and a stack that overflows ends the process;
//     server-side apply takes the square of an object's depth.
//   - Rules (expressions.go): what a rule puts together itself, a quantity or the text for a
//     pattern, is judged when the rule runs.
//   - Keys (keys.go): a signature with a key of a million bits takes minutes to check.
//
// Upstream has no such bounds, or higher ones, because there a request holds up nobody but
// itself. The refusals have the words that upstream has for the next larger fault of the same
// sort. What was stored before there were bounds is judged again when it is read.
//
// Start reading at [QuantitiesOf], [Shallow] and [Key].
package bound
