import { createRequire } from 'node:module';
import type { Ajv, Options } from 'ajv';

/**
 * A maker of validators that is made when it is first asked for. To load and set up the package costs some 30 ms, which
 * a process should not pay at its start for what it may never check. The program's own schemas are not checked against
 * the schema of schemas, which would cost as much again: a test does that. Others' are, with `validateSchema`.
 */
export function lazyAjv(options: Options, prepare: (ajv: Ajv) => void = () => {}): () => Ajv {
  let made: Ajv | null = null;
  return () => {
    if (made === null) {
      const { Ajv } = createRequire(import.meta.url)('ajv') as typeof import('ajv');
      made = new Ajv({ validateSchema: false, ...options });
      prepare(made);
    }
    return made;
  };
}
