// Package media reads the images of a conversation for the wire APIs.
//
// Callers mislabel images, and providers look at the bytes and refuse what does not
// fit its label; so the bytes decide what an image is, and the caller's word counts
// only where they do not tell. Images with an address have been fetched before; a
// "data:" URL (https://www.rfc-editor.org/rfc/rfc2397) may be left.
package media
