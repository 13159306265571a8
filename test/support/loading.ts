/**
 * Options of Node by which a program that a test starts loads sources as this process does: what was built, or by tsx, which
 * takes a third of a second more. Relative to the root of the project.
 */
export const loading: readonly string[] = process.execArgv.filter((option) => option.startsWith('--import='));
