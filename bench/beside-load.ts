import { drive, type Load } from './load.js';
import { drivePaced, type PacedLoad } from './paced.js';

type Asked = (Omit<Load, 'request'> | Omit<PacedLoad, 'request'>) & { readonly request: string };

/** Drives a load in a process of its own, a closed loop or at a rate: a message has the load, the answer to it the result. */
process.on('message', ({ request: text, ...load }: Asked) => {
  const request = Buffer.from(text, 'latin1');
  const result = 'rate' in load ? drivePaced({ ...load, request }) : drive({ ...load, request });
  void result.then((done) => process.send?.(done));
});
