import { type BodyReader, createBodyReader } from '../../../data-plane/endpoints/body-reader.js';
import { createTokenCounter, type TokenCounter } from '../../../data-plane/journal/token-counter.js';
import type { ProcessPart } from '../../part-list.js';
import type { WorkerBase } from './base.js';

export interface BodiesGiven {
  readonly bodies: BodyReader;
  readonly counter: TokenCounter;
}

/** Large bodies are read, and tokens counted, in threads that start with the first of them. */
export const bodiesPart: ProcessPart<WorkerBase, BodiesGiven> = {
  name: 'reading of bodies',
  start: () => ({
    bodies: createBodyReader(),
    counter: createTokenCounter({ maxQueue: 256, deadlineMs: 10_000 }),
  }),
  async stop({ bodies, counter }) {
    await Promise.all([bodies.close(), counter.close()]);
  },
};
