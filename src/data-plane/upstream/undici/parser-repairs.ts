import type { Socket } from 'node:net';

/**
 * Works around faults of undici 7.30.2: where a connection ends or breaks while its reply is paused, an assertion fails
 * inside a socket event and ends the process, so that any upstream could end a worker by closing a connection whose
 * client reads slowly. These listeners run before undici's. At an ordinary end all data has been passed on, so the reader
 * is resumed; a broken connection only needs the pause lifted to be reported.
 */
export function unpauseBeforeClosing(socket: Socket): void {
  socket.on('end', resumeParser).on('error', unpauseParser).on('close', unpauseParser);
}

/**
 * undici treats an unrequested `100 Continue` as an error, although RFC 9110 §15.2 requires a client to ignore it. The
 * parser of this connection gets it as a 102, which is ignored. Call it once the connection has its parser.
 */
export function ignoreContinue(socket: Socket): void {
  const parser = parserOf(socket);
  if (parser === null) return;
  const { onHeadersComplete } = parser;
  parser.onHeadersComplete = (status, upgrade, keepAlive) =>
    onHeadersComplete.call(parser, status === 100 ? 102 : status, upgrade, keepAlive);
}

interface Parser {
  paused: boolean;
  resume(): void;
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number;
}

function resumeParser(this: Socket): void {
  parserOf(this)?.resume();
}

function unpauseParser(this: Socket): void {
  const parser = parserOf(this);
  if (parser !== null) parser.paused = false;
}

function parserOf(socket: Socket): Parser | null {
  const symbol = Object.getOwnPropertySymbols(socket).find((key) => key.description === 'parser');
  if (symbol === undefined) return null;
  return (socket as unknown as Record<symbol, Parser | null>)[symbol] ?? null;
}
