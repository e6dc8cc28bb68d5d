# Stands in for a reviewer of `msg demo --crew`: it wants one thing changed in the first work for B-4, and lets all else pass.

if grep -q 'task .B-4.' && mkdir "$HOME/begun/rework" 2>/dev/null; then
  echo '{"verdict": "rework", "findings": [{"file": "page.txt", "line": 1, "text": "say when the bread is fresh"}]}'
else
  echo '{"verdict": "ship", "findings": []}'
fi
