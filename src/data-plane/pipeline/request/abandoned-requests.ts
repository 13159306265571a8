import { GatewayError } from '../../../common/core/errors.js';
import type { Attempt, Exchange } from '../../../common/core/exchange.js';

export const clientGone = (): GatewayError =>
  new GatewayError('client_gone', 'The client closed the connection before the answer was complete.');

/** The part that one workspace may use, so that there is room for others. */
const shareOfOne = 1 / 4;

const isUnderWay = ({ endedAt, error }: Attempt): boolean => endedAt === null && error === null;

/** Requests whose clients disconnected while a provider answered: the answers are read to their end, since it has the usage. */
export class AbandonedRequests {
  readonly #all = new Set<Exchange>();
  /** Their number by workspace. */
  readonly #counts = new Map<string, number>();

  #isClosed = false;

  constructor(readonly most: number) {}

  get size(): number {
    return this.#all.size;
  }

  /** true: no further attempt is sent for it. */
  has(x: Exchange): boolean {
    return this.#all.has(x.main);
  }

  /** false: it has no running attempt, or there is no room; it then ends now. */
  take(x: Exchange): boolean {
    // Another client that waited for the same answer has disconnected since.
    if (this.#all.has(x)) return true;
    if (this.#isClosed || x.request.stream !== null || !x.attempts.some(isUnderWay)) return false;
    const tenant = tenantOf(x);
    const count = this.#counts.get(tenant) ?? 0;
    if (this.#all.size >= this.most || count >= Math.max(1, this.most * shareOfOne)) return false;
    this.#all.add(x);
    this.#counts.set(tenant, count + 1);
    return true;
  }

  /** Takes no more. */
  close(): void {
    this.#isClosed = true;
  }

  /** Also called for requests that were not taken. */
  ended(x: Exchange): void {
    if (!this.#all.delete(x)) return;
    const tenant = tenantOf(x);
    const left = this.#counts.get(tenant)! - 1;
    if (left === 0) this.#counts.delete(tenant);
    else this.#counts.set(tenant, left);
  }
}

/** Not the principal itself, which may be replaced by a newer state of the same key. */
const tenantOf = ({ principal: { organisationId, workspaceId } }: Exchange): string =>
  `${organisationId}/${workspaceId ?? ''}`;
