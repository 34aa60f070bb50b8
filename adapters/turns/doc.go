// Package turns makes turns of a conversation, for the APIs in which user and assistant
// alternate and each turn is a list of typed blocks: Anthropic's Messages and Amazon's
// Converse, which was made after it.
//
// The results of an assistant's calls are the first blocks of the user's turn behind
// it, all of them in that one turn. A text must not be blank, and no turn empty.
//
// Citations belong to a text; a history holds them as provider content behind it, and
// they go back within it. The last turn may be the assistant's: the model is to go on
// with it.
package turns
