import { drive, type Load } from './load.js';

/** Drives a closed loop in a process of its own: a message has the load, the answer to it the result. */
process.on('message', ({ request, ...load }: Omit<Load, 'request'> & { readonly request: string }) => {
  void drive({ ...load, request: Buffer.from(request, 'latin1') }).then((result) => process.send?.(result));
});
