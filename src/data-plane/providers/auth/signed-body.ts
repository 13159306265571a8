import { isSource, type Source } from '../../../common/bytes/body.js';
import { Pieces } from '../../../common/bytes/pieces.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { UpstreamCall } from '../../../common/core/exchange.js';

/** A signature covers the body, so one that arrives over time is read first: up to here. */
const maxSignedBytes = 32 * 1024 * 1024;

/** The whole body of a call, which it keeps. Rejects with `body_too_large` for more than can be signed. */
export async function signedBody(call: UpstreamCall, signer: string): Promise<Buffer | null> {
  if (isSource(call.body)) call.body = await collect(call.body, signer);
  return call.body;
}

function collect(source: Source, signer: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    source.start({
      data(chunk) {
        if (pieces.length + chunk.length > maxSignedBytes) {
          source.cancel();
          reject(
            new GatewayError(
              'body_too_large',
              `A body for ${signer} is signed, and may have ${maxSignedBytes} bytes at most.`,
            ),
          );
        } else pieces.add(chunk);
        return true;
      },
      end: () => resolve(pieces.bytes()),
      error: reject,
    });
  });
}
