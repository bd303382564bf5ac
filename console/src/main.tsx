// The console: starts in the browser.
import './style/index.css';
import './theme.ts';
import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { Router } from 'wouter-preact';
import { useHashLocation } from 'wouter-preact/use-hash-location';
import { queries } from './api/reading.ts';
import { start } from './api/session.ts';
import { App } from './app.tsx';
import { ErrorBoundary } from './ui/error_boundary.tsx';

void start();
render(
  <QueryClientProvider client={queries}>
    <Router hook={useHashLocation}>
      <ErrorBoundary>
        <App />
      </ErrorBoundary>
    </Router>
  </QueryClientProvider>,
  document.getElementById('app') as HTMLElement,
);
