import { Slot } from '../../../common/core/exchange.js';

/** Were the tokens that this call asks for counted by the gateway, and so only nearly right? */
export const countedHere = new Slot<boolean>('counted-here', () => false);
