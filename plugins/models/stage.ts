import { defineStage } from '../../src/common/plugin-host/plugin.js';

export default defineStage({ name: 'models', needs: ['channel'], insertable: false });
