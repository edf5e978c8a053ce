// Package web shows pages in a browser: a job at work ([Follow]) and what a trained model takes pictures
// for ([Predictions]), both by a local [Server].
//
// A page in any browser tab can send requests to localhost. So a [Server] answers only requests
// that name it as their host (a name that an attacker's DNS server points at 127.0.0.1 is refused),
// refuses cross-origin posts, and forbids pages to load anything that it does not serve itself.
// Where others can reach the address, every path begins with a random token, which stands in the URL
// that the person is shown. Size, time, rate and connections are bounded by [Limits]. Pages use relative
// URLs ("events", not "/events"), so that they work below a token.
//
// The trainer never waits for a reader of its page. It leaves its newest state behind ([Page.Run] and
// [Page.Sweep] store one pointer a step); goroutines read that state once a second. A slow reader misses
// states in between, and is dropped when he takes nothing for ten seconds. The page is drawn anew only
// while somebody looks, and at most when that costs less than half a hundredth of the time.
//
// The page of a job shows what its files say in public, and how far the job has come: no times, no examples
// a second, no private diagnostics. Whoever watches it sees when steps are made, as whoever watches the
// folder does; docs/threat-model.md says why that is no part of the guarantee.
//
// Nothing that comes in for a prediction is kept. A picture's size is read before memory is taken for it,
// one picture at a time is decoded, and decoding ends with the time of its request.
package web
