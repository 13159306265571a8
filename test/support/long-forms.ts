/** `WHOLE_LOAD=true`, as `npm run test:long` sets it: tests take the long form, where they have one. */
export const isLong = process.env['WHOLE_LOAD'] === 'true';

/** Also in CI and with `npm test -- --all`: tests that repeat much do less of it in every other run. */
export const isWhole = isLong || process.env['CI'] === 'true' || process.env['TEST_ALL'] === 'true';

/** Examples of a property: all of them in the long form, a third of them in every other run. */
export const examples = (all: number): number => (isLong ? all : Math.ceil(all / 3));
