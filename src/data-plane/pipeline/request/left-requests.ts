import { GatewayError } from '../../../common/core/errors.js';
import type { Attempt, Exchange } from '../../../common/core/exchange.js';

export const clientGone = (): GatewayError =>
  new GatewayError('client_gone', 'The client closed the connection before the answer was complete.');

/** Its part of all of them, so that one workspace leaves room for others. */
const shareOfOne = 1 / 4;

const isUnderWay = ({ endedAt, error }: Attempt): boolean => endedAt === null && error === null;

/** Requests whose clients have left while a provider answers: the answers are read to their end, where their usage is. */
export class LeftRequests {
  readonly #all = new Set<Exchange>();
  /** Their number by workspace. */
  readonly #counts = new Map<string, number>();

  #isClosed = false;

  constructor(readonly most: number) {}

  get size(): number {
    return this.#all.size;
  }

  /** true: nothing more is sent for it. */
  has(x: Exchange): boolean {
    return this.#all.has(x.main);
  }

  /** false: nothing is under way for it, or there is no room. Then it ends now. */
  take(x: Exchange): boolean {
    // Another client that had waited for the same answer has left since.
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

  /** It may be one that was not taken. */
  ended(x: Exchange): void {
    if (!this.#all.delete(x)) return;
    const tenant = tenantOf(x);
    const left = this.#counts.get(tenant)! - 1;
    if (left === 0) this.#counts.delete(tenant);
    else this.#counts.set(tenant, left);
  }
}

/** Its key may be replaced by another state of the same key, whose workspace is the same. */
const tenantOf = ({ principal: { organisationId, workspaceId } }: Exchange): string =>
  `${organisationId}/${workspaceId ?? ''}`;
