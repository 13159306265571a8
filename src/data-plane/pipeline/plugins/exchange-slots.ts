import { Slot } from '../../../common/core/exchange.js';

/** Did the gateway itself count the tokens that this call asks for? Then they are an estimate. */
export const countedHere = new Slot<boolean>('counted-here', () => false);
