// The console: starts in the browser.
import './style/index.css';
import './theme.ts';
import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { Router } from 'wouter-preact';
import { followAddress, usePath } from './address.ts';
import { queries } from './api/reading.ts';
import { explain } from './api/sentences.ts';
import { start } from './api/session.ts';
import { App } from './app.tsx';
import { ErrorBoundary, Explain } from './ui/ui.ts';

followAddress();
void start();
render(
  <QueryClientProvider client={queries}>
    <Router hook={usePath}>
      <Explain.Provider value={explain}>
        <ErrorBoundary>
          <App />
        </ErrorBoundary>
      </Explain.Provider>
    </Router>
  </QueryClientProvider>,
  document.getElementById('app') as HTMLElement,
);
