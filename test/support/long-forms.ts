/** `WHOLE_LOAD=true`, as `npm run test:long` sets it: tests take the long form, where they have one. */
export const isLong = process.env['WHOLE_LOAD'] === 'true';

/** Examples of a property: all of them in the long form, a third of them in every other run. */
export const examples = (all: number): number => (isLong ? all : Math.ceil(all / 3));
