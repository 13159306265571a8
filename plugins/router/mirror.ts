import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { Mirror, Target } from '../../src/common/core/target.js';
import { traceBelow } from '../../src/common/http/trace.js';
import type { Metric } from '../../src/common/plugin-host/metrics.js';
import type { HostWith } from '../../src/common/plugin-host/plugin.js';
import { directCredential } from '../../src/common/plugin-host/slots.js';
import { uuidv7 } from '../../src/common/text/id.js';
import { isRepeatable } from './health/outcome.js';

/**
 * Limits of a worker for copies; a copy above them is dropped. A workspace may use at most as much as it leaves for the
 * others, so half if it is alone: even if one sends many copies to an upstream that hangs, others have room.
 */
export interface MirrorLimits {
  /** Copies that run at the same time. */
  readonly running: number;
  readonly waiting: number;
  /** Bytes of the bodies of all of them. */
  readonly bytes: number;
}

export const mirrorLimits: MirrorLimits = { running: 32, waiting: 128, bytes: 128 * 1024 * 1024 };

/** A workspace's use of the limits. */
interface Part {
  /** Copies, running and waiting. */
  held: number;
  running: number;
  bytes: number;
}

interface Copy {
  readonly x: Exchange;
  readonly part: Part;
  readonly target: Target;
}

/** Copies requests to other targets. The original request never waits for a copy and never sees its outcome. */
export class Mirrors {
  readonly #waiting: Copy[] = [];
  readonly #running = new Set<Exchange>();
  /** Workspaces with copies, by id. */
  readonly #parts = new Map<string, Part>();
  #bytes = 0;
  #sent = 0;
  #dropped = 0;
  #isClosed = false;

  constructor(
    readonly host: Pick<HostWith<'upstream'>, 'aside' | 'random' | 'log'>,
    readonly limits: MirrorLimits = mirrorLimits,
  ) {}

  /** Copies a request that was just sent, or not, by the share; not before the next turn. */
  copy(x: Exchange, { share, target }: Mirror): void {
    const { bytes } = x.request;
    if (this.#isClosed || bytes === null || !isRepeatable(x) || this.host.random() >= share) return;
    const { running, waiting, bytes: maxBytes } = this.limits;
    const part = this.#parts.get(tenantOf(x)) ?? { held: 0, running: 0, bytes: 0 };
    const left = running + waiting - this.#running.size - this.#waiting.length;
    if (part.held >= left || part.bytes + bytes.length > maxBytes - this.#bytes) {
      this.#dropped++;
      return;
    }
    this.#parts.set(tenantOf(x), part);
    part.held++;
    part.bytes += bytes.length;
    this.#bytes += bytes.length;
    this.#waiting.push({ x: copyOf(x), part, target });
    x.decided({ kind: 'mirror', target: target.path });
    setImmediate(() => this.#next());
  }

  metrics(): readonly Metric[] {
    return [
      { name: 'gateway_mirror_requests_total', labels: {}, value: this.#sent },
      { name: 'gateway_mirror_dropped_total', labels: {}, value: this.#dropped },
    ];
  }

  /** Ends running copies. Resolves when they are settled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting.length = 0;
    const leaving = new GatewayError('draining', 'This node is shutting down.');
    for (const x of this.#running) x.abort(leaving, (thrown) => this.#threw(x, thrown));
    await new Promise((turn) => setImmediate(turn));
  }

  /** Sends the next one; was there any? */
  #next(): boolean {
    const free = this.limits.running - this.#running.size;
    const at = this.#waiting.findIndex(({ part }) => part.running < free);
    if (at < 0) return false;
    const [{ x, part, target }] = this.#waiting.splice(at, 1) as [Copy];
    this.#running.add(x);
    part.running++;
    this.#sent++;
    this.host
      .aside(x, target)
      .catch((thrown: unknown) => this.#threw(x, thrown))
      .then(() => {
        this.#running.delete(x);
        part.running--;
        this.#letGo(x, part);
        // Every workspace may use more now, and several may have waited for that.
        while (this.#next());
      });
    return true;
  }

  #letGo(x: Exchange, part: Part): void {
    const length = x.request.bytes?.length ?? 0;
    this.#bytes -= length;
    part.bytes -= length;
    if (--part.held === 0) this.#parts.delete(tenantOf(x));
  }

  #threw(x: Exchange, thrown: unknown): void {
    this.host.log.error({ err: thrown, request_id: x.id }, 'a mirrored request failed in the gateway');
  }
}

const tenantOf = ({ principal }: Exchange): string => principal.workspaceId ?? principal.organisationId;

/** In the log a copy is marked by its metadata and found by the trace of the original. */
function copyOf(x: Exchange): Exchange {
  const copy = x.copy(uuidv7());
  copy.set(directCredential, x.get(directCredential));
  copy.metadata = { ...x.metadata, _mirror_of: x.id };
  copy.trace = traceBelow(x.trace, 'mirror');
  return copy;
}
