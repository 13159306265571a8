/** A failure with a sentence for a person and an exit code; its stack is never printed. */
export class CliError extends Error {
  readonly exitCode: number;
  /** Printed below the message, a line each. */
  readonly lines: readonly string[];

  constructor(message: string, exitCode = 1, lines: readonly string[] = []) {
    super(message);
    this.lines = lines;
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}
