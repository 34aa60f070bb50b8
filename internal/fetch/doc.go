// Package fetch downloads the images that a conversation gives by URL.
//
// The URLs come from callers, who may have them from anywhere: from a web page
// that a model read, for one. A service that fetches what it is told reaches
// whatever its own host reaches, such as databases, the admin pages of the
// neighbours and the metadata service that hands out the machine's credentials
// (server-side request forgery, https://owasp.org/www-community/attacks/Server_Side_Request_Forgery).
// Hence the rules of this package:
//
//   - http and https alone; no user name or password in the URL; a host is a name,
//     an IPv6 address, or an IPv4 address in its usual spelling.
//   - Ports 80, 443 and 1024 to 65535.
//   - Only public addresses. A name is looked up once, all its addresses must be
//     public, and one of these very addresses is dialled; the socket's address is
//     checked again when it is about to connect. A resolver that changes its answer
//     in between (DNS rebinding) gains nothing. Transition forms of IPv6 (mapped,
//     6to4, Teredo, NAT64, ISATAP) are judged by what is inside, too.
//   - [Options.Allow] opens hosts and networks of one's own, on every port. Metadata
//     services stay shut whatever it says.
//   - Redirects are followed by hand, at most five; each is checked like the first
//     URL, and https never leads to http.
//   - No proxy, no cookies, no credentials, no compression, one connection a request.
//   - What comes must be a PNG, JPEG, GIF or WebP image by its first bytes, and no
//     Content-Type may say otherwise.
//   - 10 MiB and 15 s an image; 20 images, 32 MiB and 30 s a [Batch], four at a time.
//     Bytes are counted as they come, whatever Content-Length says.
//
// Errors name the URL without its query and say what went wrong, but neither
// addresses nor anything that the host answered: callers are not told what there is
// in llmd's network. For the same reason, a name that does not exist and one that
// leads to a private address get the same answer.
package fetch
