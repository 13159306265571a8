import type { HeaderList } from '../../common/http/headers.js';
import type { Upstream, UpstreamHandler } from '../../data-plane/upstream/upstream.js';
import { simulatedUpstream } from '../chain/simulated-upstream.js';

interface Recorded {
  readonly status: number;
  readonly headers: HeaderList;
  readonly pieces: readonly Buffer[];
}

const maxRecorded = 100;

/**
 * The simulated provider, whose answers are made once and given again: what is measured is the chain. Requests are the same
 * where their addresses are, and whether they ask for a stream.
 */
export function replayedUpstream(): Upstream {
  const simulated = simulatedUpstream({ onCall() {}, answer: () => undefined });
  const known = new Map<string, Recorded>();
  return {
    send(request, handler) {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const key = `${request.method} ${request.url} ${body.includes('"stream":true')}`;
      const recorded = known.get(key);
      if (recorded === undefined) {
        const keep = (made: Recorded): void => void (known.size < maxRecorded && known.set(key, made));
        return simulated.send(request, recording(handler, keep));
      }
      let isCancelled = false;
      setImmediate(() => {
        if (isCancelled) return;
        handler.head(recorded.status, [...recorded.headers]);
        for (const piece of recorded.pieces) if (!isCancelled) handler.data(piece);
        if (!isCancelled) handler.end();
      });
      return {
        sent: true,
        resume() {},
        cancel() {
          isCancelled = true;
        },
      };
    },
    close: () => simulated.close(),
  };
}

function recording(handler: UpstreamHandler, done: (made: Recorded) => void): UpstreamHandler {
  let head: Pick<Recorded, 'status' | 'headers'> | null = null;
  const pieces: Buffer[] = [];
  return {
    head(status, headers) {
      head = { status, headers: [...headers] };
      handler.head(status, headers);
    },
    data(chunk) {
      pieces.push(chunk);
      return handler.data(chunk);
    },
    end() {
      if (head !== null) done({ ...head, pieces });
      handler.end();
    },
    error: (error) => handler.error(error),
  };
}
