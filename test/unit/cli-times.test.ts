import { expect } from 'chai';
import { Command } from 'commander';
import { adminTree } from '../../proto/tree.js';
import { flagsOf } from '../../src/cli/input/fields.js';
import { fieldValue, type Typed } from '../../src/cli/input/typed-value.js';

describe('times on the command line', () => {
  /** The value that a command sends for a flag, of what is typed. */
  async function sent(name: string, flag: string, typed: readonly string[]): Promise<unknown> {
    const method = [...adminTree().methods.values()].find((one) => one.name === name)!;
    const command = new Command().exitOverride();
    const flags = flagsOf(method);
    for (const { option } of flags) command.addOption(option);
    command.parse([...typed], { from: 'user' });
    const found = flags.find((one) => one.name === flag)!;
    return fieldValue(found.field, command.getOptionValue(found.option.attributeName()) as Typed, flag);
  }
  const methods = ['Analytics.GraphCost', 'Analytics.GroupBy', 'Logs.ListLogs'];

  for (const name of methods)
    it(`may be days ago or from now: ${name}`, async () => {
      for (const flag of ['--time-of-generation-min', '--time-of-generation-max'])
        for (const typed of [[flag, '-1d'], [`${flag}=-1d`]]) {
          const at = Date.parse(String(await sent(name, flag, typed)));
          expect(at, typed.join(' ')).to.be.closeTo(Date.now() - 86_400_000, 60_000);
        }
    });

  it('are sent as they are where they are written with their zone', async () => {
    const [flag, time] = ['--time-of-generation-max', '2026-11-23T09:00:00+02:00'];
    expect(await sent('Analytics.GraphCost', flag, [flag, time])).to.equal(time);
  });

  it('accept days only in flags that take times', async () => {
    expect(await sent('Analytics.GraphCost', '--ai-model', ['--ai-model', '-1d'])).to.equal('-1d');
  });
});
