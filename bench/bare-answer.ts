import uws from 'uWebSockets.js';

/** What uWebSockets.js needs to read a body and give a fixed answer: no key, no parsing, no record. */
const answer = Buffer.from(process.argv[2] ?? '');

const app = uws.App();
app.any('/*', (res) => {
  res.onAborted(() => {});
  res.onData((_part, last) => {
    if (!last) return;
    res.cork(() => {
      res.writeHeader('content-type', 'application/json');
      res.end(answer);
    });
  });
});
app.listen('127.0.0.1', 0, (socket) => {
  if (!socket) process.exit(1);
  process.send?.({ port: uws.us_socket_local_port(socket) });
});
