import fc from 'fast-check';

// A build fails for what was changed, not for a case that no run has met before: CI draws the same cases each time. Elsewhere
// they are others in each run, and a failure prints the seed that repeats it.
if (process.env['CI'] === 'true') fc.configureGlobal({ seed: 20_261_122 });
