import type { SharedServer } from '../../../src/common/ipc/shared.js';
import type { Vectors } from '../../../src/common/plugin-host/control.js';
import type { VectorText } from '../shared/channel.js';

/** The workers' shared vectors of questions, opened at the first use: most gateways never use them. */
export class Questions {
  #store: Promise<Vectors | null> | null = null;

  /** `open` resolves with null: there is to be no index. */
  constructor(
    server: SharedServer,
    readonly open: () => Promise<Vectors | null>,
  ) {
    server.answer('vector-find', async ({ scope, vector, similarity }) => {
      const store = await this.#opened();
      return { keys: store === null ? null : await store.nearest(scope, vectorOf(vector), similarity) };
    });
    server.on('vector-add', ({ scope, key, vector, ttl }) => {
      void this.#opened().then((store) => store?.add(scope, key, vectorOf(vector), ttl));
    });
    server.on('vector-drop', ({ scope, key }) => {
      void this.#opened().then((store) => store?.drop(scope, key));
    });
  }

  async close(): Promise<void> {
    await (await this.#store)?.close();
  }

  #opened(): Promise<Vectors | null> {
    this.#store ??= this.open();
    return this.#store;
  }
}

/** Copied to an aligned position: bytes decoded from base64 may start at any offset. */
function vectorOf(text: VectorText): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  const vector = new Float32Array(bytes.length >> 2);
  Buffer.from(vector.buffer).set(bytes.subarray(0, vector.byteLength));
  return vector;
}
