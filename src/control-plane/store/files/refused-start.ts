/** Why the program will not start: one line for the operator with what to do. */
export class RefusedStart extends Error {
  override readonly name = 'RefusedStart';
}

/** The database does not answer, or takes no changes for now: that may pass by itself. */
export class StoreAway extends RefusedStart {}
