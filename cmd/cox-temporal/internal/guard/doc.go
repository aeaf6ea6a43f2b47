// Package guard stands in front of the Web UI and decides which HTTP requests
// may reach it.
//
// The Web UI answers any Host header and passes its /api/v1 on to the server, so
// a page that rebinds DNS to 127.0.0.1 could read and steer every workflow. The
// guard lets a request through only when
//
//	Host    names this listener: a loopback name and our own port
//	Origin  is absent, or is this listener's own
//	method  reads (GET, HEAD), or the path is one of the few writes that a
//	        person may do here: cancel, terminate and query a workflow
//
// Everything else is answered 403 in words, before any handler of the UI runs.
//
// Invariants:
//   - nothing is decided by a header that a page can choose (Referer,
//     X-Forwarded-*, Sec-Fetch-*);
//   - an unreadable Host or Origin is a foreign one;
//   - the list of writes is an allow-list, so that a newer UI gains no power.
package guard
