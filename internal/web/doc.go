// Package web serves a page of this program to the person who started it: on localhost unless asked
// otherwise, for as long as a command runs.
//
// A page in any browser tab can send requests to localhost. So a [Server] answers only requests
// that name it as their host (a name that an attacker's DNS server points at 127.0.0.1 is refused),
// refuses cross-origin posts, and forbids pages to load anything that it does not serve itself.
// Where others can reach the address, every path begins with a random token, which stands in the URL
// that the person is shown. Size, time, rate and connections are bounded by [Limits].
//
// Pages use relative URLs ("events", not "/events"), so that they work below a token.
package web
