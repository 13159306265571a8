import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePorts } from './gateway.js';

type Direction = 'toServer' | 'toClient';

/**
 * What becomes of a piece of bytes: passed on; lost, with all that follows on its connection; held, as everything after it
 * (`freeze`); or its connection is reset.
 */
export type Fate = 'pass' | 'lose' | 'hold' | 'reset';

/**
 * `pass`: bytes go through. `refuse`: nothing listens. `swallow`: nothing comes through and nothing is reset; a connection on
 * which bytes were lost stays dead afterwards, as one that a firewall has forgotten. `freeze`: as `swallow`, but all that was
 * held goes through afterwards, as TCP would send it again; also what a client had sent before it closed its connection.
 */
type State = 'pass' | 'refuse' | 'swallow' | 'freeze';

class Link {
  /** Bytes will never again come through, nor a reset. */
  dead = false;
  readonly #held: (() => void)[] = [];
  #delayed = 0;
  #lastDelayMs = 0;
  readonly #server: Socket;

  constructor(
    readonly proxy: FaultyProxy,
    readonly client: Socket,
    open: () => Socket,
    readonly gone: () => void,
  ) {
    this.#server = open();
    this.#carry(client, this.#server, 'toServer');
    this.#carry(this.#server, client, 'toClient');
  }

  #carry(from: Socket, to: Socket, direction: Direction): void {
    from.setNoDelay(true);
    from.on('data', (piece) => this.#step(() => this.#piece(piece, to, direction)));
    from.on('end', () => this.#step(() => to.end()));
    from.on('error', () => {});
    from.on('close', (isBroken) => {
      this.#step(() => {
        if (isBroken) to.resetAndDestroy();
        else to.end();
      });
      if (from.destroyed && to.destroyed) this.gone();
    });
  }

  #step(step: () => void): void {
    const { delayMs } = this.proxy;
    // A piece never overtakes one before it, also when the delay has just ended.
    if (this.#delayed > 0) this.#later(step, Math.max(delayMs, this.#lastDelayMs));
    else if (delayMs > 0) this.#later(step, delayMs);
    else this.#pass(step);
  }

  #later(step: () => void, ms: number): void {
    this.#delayed += 1;
    this.#lastDelayMs = ms;
    setTimeout(() => {
      this.#delayed -= 1;
      this.#pass(step);
    }, ms);
  }

  #pass(step: () => void): void {
    const { state } = this.proxy;
    if (this.dead) return;
    if (state === 'swallow') this.dead = true;
    else if (state === 'freeze') this.#held.push(step);
    else step();
  }

  #piece(piece: Buffer, to: Socket, direction: Direction): void {
    this.proxy.bytes[direction] += piece.length;
    const fate = this.proxy.rule?.(piece, direction) ?? 'pass';
    if (fate === 'lose') this.dead = true;
    else if (fate === 'reset') this.reset();
    else if (fate === 'hold') {
      this.proxy.freeze();
      this.#held.push(() => to.write(piece));
    } else if (!to.destroyed) to.write(piece);
  }

  thaw(): void {
    for (const step of this.#held.splice(0)) if (!this.dead) step();
  }

  reset(): void {
    this.dead = true;
    this.client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }
}

/** A TCP proxy in front of a PostgreSQL or Redis server, which loses, holds, delays or cuts what goes through it. */
export class FaultyProxy {
  state: State = 'pass';
  /** Before each piece of bytes, in each direction. */
  delayMs = 0;
  /** Decides about each piece of bytes while the state is `pass`; null: all pass. */
  rule: ((piece: Buffer, direction: Direction) => Fate) | null = null;
  /** Passed on so far, or lost by the rule. */
  readonly bytes: Record<Direction, number> = { toServer: 0, toClient: 0 };
  /** Connections accepted so far. */
  accepted = 0;
  port = 0;
  readonly #links = new Set<Link>();
  #server: Server | null = null;

  private constructor(readonly target: { readonly host: string; readonly port: number }) {}

  static async start(port: number, host = '127.0.0.1'): Promise<FaultyProxy> {
    const proxy = new FaultyProxy({ host, port });
    // Not one that the system would choose: while nothing listens there, it may give it to a connection, even to one that
    // is made to this very port, which is then connected with itself.
    [proxy.port = 0] = await freePorts(1);
    await proxy.#listen();
    return proxy;
  }

  /** Open connections, those that are dead included. */
  get open(): number {
    return this.#links.size;
  }

  /** The same URL by way of this proxy. */
  through(url: string): string {
    const by = new URL(url);
    by.hostname = '127.0.0.1';
    by.port = String(this.port);
    return by.href;
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
      this.#server = server;
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', () => {
        const address = server.address();
        if (address !== null && typeof address === 'object') this.port = address.port;
        resolve();
      });
    });
  }

  #accept(client: Socket): void {
    this.accepted += 1;
    const link: Link = new Link(
      this,
      client,
      () => connect({ ...this.target, allowHalfOpen: true }),
      () => this.#links.delete(link),
    );
    this.#links.add(link);
  }

  /** Everything works again, but for connections on which bytes were lost. */
  async pass(): Promise<void> {
    this.rule = null;
    this.delayMs = 0;
    if (this.state === 'refuse') await this.#listen();
    this.state = 'pass';
    for (const link of this.#links) link.thaw();
  }

  /** Resets every connection; new ones are made as before. */
  reset(): void {
    for (const link of this.#links) link.reset();
  }

  /** Resets every connection, and refuses new ones. */
  refuse(): void {
    if (this.state !== 'refuse') this.#server?.close();
    this.state = 'refuse';
    this.reset();
  }

  /** From now on nothing comes through, nor is anything reset; new connections are accepted and stay silent. */
  swallow(): void {
    this.state = 'swallow';
  }

  /** As `swallow`, but what is sent meanwhile comes through after `pass`. */
  freeze(): void {
    this.state = 'freeze';
  }

  /** The connections of this moment die without a word, as a firewall forgets them; new ones work. */
  forget(): void {
    for (const link of this.#links) link.dead = true;
  }

  /** Closes all for good. */
  async close(): Promise<void> {
    this.reset();
    const server = this.#server;
    if (this.state === 'refuse' || server === null) return;
    await new Promise((closed) => server.close(closed));
  }
}
