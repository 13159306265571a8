import { expect } from 'chai';
import { run } from '../support/command.js';
import { mainFile } from '../support/gateway.js';

describe('headgate --help', () => {
  it('costs little time: of the processor, whose it is to give', async function () {
    this.timeout(30_000);
    const meter =
      'data:text/javascript,process.on("exit",()=>{const{user,system}=process.cpuUsage();console.error((user+system)/1e3)})';
    /** Milliseconds of the processor's time, the best of a few. */
    const cost = async (...args: string[]): Promise<number> => {
      const took: number[] = [];
      for (let i = 0; i < 4; i += 1) {
        const { code, stderr } = await run(process.execPath, ['--import', meter, ...args]);
        expect(code).to.equal(0);
        took.push(Number(stderr));
      }
      return Math.min(...took);
    };
    // Of a machine that is slow today, Node's own start says how slow.
    const most = Math.max(350, 6 * (await cost('--eval', '0')));
    for (const args of [['--help'], ['configs', 'update', '--help']])
      expect(await cost(mainFile, ...args), args.join(' ')).to.be.lessThan(most);
  });
});
