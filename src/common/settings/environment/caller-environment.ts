/** A variable of the shell that a command was started in, which is no setting of the gateway; undefined: it is not set. */
export const callerVariable = (name: string): string | undefined => process.env[name];
