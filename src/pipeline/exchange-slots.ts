import { Slot } from '../core/exchange.js';
import type { BodyRecord } from './body-record.js';

/** Were the tokens that this call asks for counted by the gateway, and so only nearly right? */
export const countedHere = new Slot<boolean>('counted-here', () => false);

/** The answer's bytes as the client got them (as much as is kept), for the log and for counting. */
export const answerRecord = new Slot<BodyRecord | Buffer | null>('answer-record', () => null);
