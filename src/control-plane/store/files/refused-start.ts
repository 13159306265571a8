/** Why the program will not start: one line for the operator with what to do. */
export class RefusedStart extends Error {
  override readonly name = 'RefusedStart';
}
