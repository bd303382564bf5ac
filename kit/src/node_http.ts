// Node's HTTP. An import of `node:http` would also load the client of `fetch`, for its `WebSocket`:
// 30 ms of each start.
const http = process.getBuiltinModule('node:http');

export const { Agent, createServer, request, Server: HttpServer, STATUS_CODES } = http;
