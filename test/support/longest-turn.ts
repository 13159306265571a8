import { connect } from 'node:net';

/** Milliseconds of the longest turn of a data worker since this was asked last. `probe`: the socket of its stall-probe. */
export function longestTurn(probe: string): Promise<number> {
  return new Promise((done, failed) => {
    let text = '';
    connect(probe)
      .on('data', (piece) => {
        text += piece.toString();
      })
      .on('end', () => done(Number(text)))
      .on('error', failed);
  });
}
