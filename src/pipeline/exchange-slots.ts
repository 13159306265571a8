import { Slot } from '../core/exchange.js';
import type { BodyRecord } from './body-record.js';

/** The answer's bytes as the client got them (as much as is kept), for the log and for counting. */
export const answerRecord = new Slot<BodyRecord | Buffer | null>('answer-record', () => null);
