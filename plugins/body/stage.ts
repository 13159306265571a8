import { defineStage } from '../../src/common/plugin-host/plugin.js';

export default defineStage({ name: 'body', needs: ['bodies'], insertable: false });
