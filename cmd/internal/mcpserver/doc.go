// Package mcpserver offers the ledger to agents as MCP tools over stdio: what
// `cox mcp` serves. A tool parses its arguments, makes one ledger call and
// answers; it decides nothing, so that a rule holds for every door alike.
//
// Invariants:
//
//   - A caller is proven, never believed. A token is checked again at every call,
//     and a bound worker's run is found through its binding. Ids and roles among
//     the arguments can only agree with that or be refused.
//   - Which tools exist depends on the face that the caller sees:
//     a worker's thread has its own assignment only, an integrator's thread its
//     own team, and a process without a token what the person who started it as
//     an agent, integrator or human may do.
//   - Nothing is executed before the handshake is complete, whatever a frame says
//     about its protocol.
//   - Out carries frames and nothing else; logs go to the logger, and never hold
//     arguments.
//   - Every outcome of a tool is one JSON object, as structured content and as
//     text: {"ok":true, …} or {"ok":false,"error":{code,message,next,details}}.
//     Protocol errors are left for what is no tool's business.
//   - A line that is no frame is answered with a JSON-RPC error and ends nothing,
//     unless it is too long to be read. No error has the code 0.
//   - A call that was read is answered before the end of In ends the server.
//
// The handshake:
//
//	new ──initialize──▶ greeted ──notifications/initialized──▶ ready
//	 │ping                │ping                                 │everything
package mcpserver
