import type { Connection } from './connection.js';
import { WaitingLine } from './waiting-line.js';

/**
 * All connections of one worker. Above `max`, idle ones are closed, the one unused for longest first:
 * an idle connection must not take the file descriptor that a request needs.
 */
export class OpenConnections {
  readonly max: number;
  readonly #groups: IdleConnections[] = [];
  #open = 0;

  constructor(max: number) {
    this.max = max;
  }

  /** A group of pools whose idle connections are counted together. Those of the first group are closed first. */
  group(maxIdle: number): IdleConnections {
    const group = new IdleConnections(this, maxIdle);
    this.#groups.push(group);
    return group;
  }

  get isOver(): boolean {
    return this.#open > this.max;
  }

  opened(): void {
    this.#open += 1;
    if (this.isOver) this.#groups.find((group) => group.size > 0)?.closeOldest();
  }

  closed(): void {
    this.#open -= 1;
  }
}

/** The idle connections of many pools. Above `max`, the one unused for longest is closed. */
export class IdleConnections extends WaitingLine<Connection> {
  readonly all: OpenConnections;
  readonly max: number;

  constructor(all: OpenConnections, max: number) {
    super();
    this.all = all;
    this.max = max;
  }

  add(connection: Connection): void {
    this.push(connection);
    if (this.size > this.max || this.all.isOver) this.closeOldest();
  }

  closeOldest(): void {
    this.first?.destroy();
  }
}
