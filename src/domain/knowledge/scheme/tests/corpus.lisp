;;; Expressions as models write them. What follows `;=>` is the answer; it may have several lines.

;;; Scheme

(get-principles)
;=> (table (:name :kind :description :confidence :basis :evidence :author :at :changed :anchors)
;    ("names-say-what" principle "A name says what a thing is." 0.7 told ("review of May") "cid" "2025-11-13T00:00:00.000Z" "2025-11-13T00:00:00.000Z" nil)
;    ("one-writer" principle "Each file has one writer." 0.9 tested ("the crash sweep" "the storm test") "ann" "2025-11-12T00:00:00.000Z" "2025-11-12T00:00:00.000Z" ("src/store/log.rs:1-9")))

(map (lambda (p) (@ p 'name)) (get-principles))
;=> ("names-say-what" "one-writer")

(filter (lambda (p) (> (@ 'confidence p) 0.8)) (get-principles))
;=> ((:name "one-writer" :kind principle :description "Each file has one writer." :confidence 0.9 :basis tested :anchors ("src/store/log.rs:1-9") :evidence ("the crash sweep" "the storm test") :author "ann" :at "2025-11-12T00:00:00.000Z" :changed "2025-11-12T00:00:00.000Z"))

(let ((ds (get-decisions))) (length ds))
;=> 4

(define (high? d) (and (@ d :impact) (>= (@ d :impact) 8)))
(map (lambda (d) (list (@ d :name) (@ d :impact))) (filter high? (get-decisions)))
;=> (("log-per-writer" 9) ("one-flock" 8))

(let loop ((xs (get-decisions)) (n 0))
  (if (null? xs) n (loop (cdr xs) (+ n 1))))
;=> 4

(let* ((all (get-records)) (n (length all))) (list 'records n))
;=> (records 14)

(letrec ((even-length? (lambda (l) (if (null? l) #t (odd-length? (cdr l)))))
         (odd-length? (lambda (l) (if (null? l) #f (even-length? (cdr l))))))
  (even-length? '(1 2 3 4)))
;=> true

(fold + 0 (map (lambda (d) (or (@ d 'impact) 0)) (get-decisions)))
;=> 22

(fold-left (lambda (acc x) (cons x acc)) '() '(1 2 3))
;=> (3 2 1)

(fold-right cons '() (list 1 2 3))
;=> (1 2 3)

(cond ((null? (get-stale)) "all fresh")
      ((> (length (get-stale)) 10) "many")
      (else "some stale"))
;=> "some stale"

(case (@ (get-decision "one-flock") 'status)
  ((active) 'in-force)
  ((deprecated superseded) 'old)
  (else 'unknown))
;=> in-force

(sort (map (lambda (r) (@ r 'name)) (get-decisions)) string<?)
;=> ("file-per-message" "log-per-writer" "one-flock" "toml-config")

(sort (get-principles) (lambda (a b) (> (@ a 'confidence) (@ b 'confidence))))
;=> (table (:name :kind :description :confidence :basis :anchors :evidence :author :at :changed)
;    ("one-writer" principle "Each file has one writer." 0.9 tested ("src/store/log.rs:1-9") ("the crash sweep" "the storm test") "ann" "2025-11-12T00:00:00.000Z" "2025-11-12T00:00:00.000Z")
;    ("names-say-what" principle "A name says what a thing is." 0.7 told nil ("review of May") "cid" "2025-11-13T00:00:00.000Z" "2025-11-13T00:00:00.000Z"))

(list-ref (map (lambda (x) (@ x "name")) (get-notes)) 0)
;=> "cargo-jobs"

(assoc 'b '((a 1) (b 2)))
;=> (b 2)

(apply max (map (lambda (d) (or (@ d :impact) 0)) (get-decisions)))
;=> 9

(begin (define xs '(3 1 2)) (reverse xs))
;=> (2 1 3)

`(decision ,(@ (get-decision "one-flock") 'name) ,@(list 1 2))
;=> (decision "one-flock" 1 2)

(string-append (@ (get-decision "one-flock") 'name) " by " (@ (get-decision "one-flock") 'author))
;=> "one-flock by ann"

(filter (lambda (n) (string-contains? (@ n 'description) "memory")) (get-notes))
;=> ((:name "cargo-jobs" :kind note :description "Two build jobs fit into memory." :confidence 0.75 :basis read :anchors ("$ cargo test") :author "cid" :at "2025-11-15T00:00:00.000Z" :changed "2025-11-15T00:00:00.000Z"))

(for-each (lambda (d) (display (@ d 'name))) (get-decisions))
;=> ("file-per-message" "log-per-writer" "one-flock" "toml-config")

(call-with-current-continuation (lambda (k) (k 1)))
;=> (:error "`call-with-current-continuation` is not defined" :line 1 :column 2 :near (table (:name :example)
;    ("call" "(funcall #'count '(1 2))")
;    ("car" "(first (get-recent))")))

(map + '(1 2 3) '(10 20 30))
;=> (11 22 33)

(list-tail '(a b c d) 2)
;=> (c d)

(member "ann" (map (lambda (r) (@ r 'author)) (get-notes)))
;=> ("ann")

(delete-duplicates (map (lambda (r) (@ r 'author)) (get-records)))
;=> ("cid" "ann" "bob")

(string-upcase (symbol->string 'locks))
;=> "LOCKS"

(if (equal? (@ (get-decision "toml-config") 'status) "deprecated") #t #f)
;=> true

(append-map (lambda (p) (@ p 'evidence)) (get-principles))
;=> ("review of May" "the crash sweep" "the storm test")

(get-related-files "src/sys/flock.rs")
;=> ("src/store/names.rs" "src/store/registry.rs")

;;; Clojure

(->> (get-decisions) (filter #(= (:status %) "active")) (map :name))
;=> ("log-per-writer" "one-flock")

(map :name (get-principles))
;=> ("names-say-what" "one-writer")

(count (get-notes))
;=> 2

(let [d (get-decision "one-flock") {:keys [name impact]} d] [name impact])
;=> ("one-flock" 8)

(sort-by :confidence > (get-principles))
;=> (table (:name :kind :description :confidence :basis :anchors :evidence :author :at :changed)
;    ("one-writer" principle "Each file has one writer." 0.9 tested ("src/store/log.rs:1-9") ("the crash sweep" "the storm test") "ann" "2025-11-12T00:00:00.000Z" "2025-11-12T00:00:00.000Z")
;    ("names-say-what" principle "A name says what a thing is." 0.7 told nil ("review of May") "cid" "2025-11-13T00:00:00.000Z" "2025-11-13T00:00:00.000Z"))

(group-by :kind (get-recent 4))
;=> (:note (table (:name :kind :confidence :verdict :description)
;    ("tests-need-tty" note 0.4 stale "The chat tests need a terminal.")
;    ("cargo-jobs" note 0.75 nil "Two build jobs fit into memory.")) :decision ((:name "log-per-writer" :kind decision :status active :confidence 0.75 :description "Each writer appends to a log of its own.")) :tried ((:name "inotify-on-nfs" :kind tried :confidence 0.75 :description "Watched an inbox on NFS.")))

(frequencies (map :author (get-records)))
;=> (:cid 4 :ann 7 :bob 3)

(into {} (map (fn [[k v]] [k (count v)]) (group-by :kind (get-records))))
;=> (:note 2 :tried 1 :decision 4 :principle 2 :pattern 2 :file 1 :relationship 2)

(->> (get-records)
     (remove #(nil? (:impact %)))
     (sort-by (comp - :impact))
     (take 2)
     (mapv (juxt :name :impact)))
;=> (("log-per-writer" 9) ("one-flock" 8))

(defn important [ds] (filter #(and (:impact %) (> (:impact %) 6)) ds))
(count (important (get-decisions)))
;=> 2

(for [d (get-decisions) :when (= :active (:status d))] (:name d))
;=> ("log-per-writer" "one-flock")

(for [p (get-principles) e (:evidence p)] (str (:name p) ": " e))
;=> ("names-say-what: review of May" "one-writer: the crash sweep" "one-writer: the storm test")

(loop [i 0 acc []] (if (< i 5) (recur (inc i) (conj acc (* i i))) acc))
;=> (0 1 4 9 16)

(reduce + (map #(or (:impact %) 0) (get-decisions)))
;=> 22

(reduce (fn [m d] (assoc m (:name d) (:impact d))) {} (get-decisions))
;=> (:file-per-message 5 :log-per-writer 9 :one-flock 8 :toml-config nil)

(some #(= "bob" (:author %)) (get-notes))
;=> nil

(every? :confidence (get-records))
;=> true

(first (filter (comp #{"ann"} :author) (get-decisions)))
;=> (:name "file-per-message" :kind decision :status superseded :description "Each message is a file." :rationale "Files are simple." :impact 5 :confidence 0.75 :basis read :verdict gone :anchors ("src/store/messages.rs") :superseded-by ("decision/log-per-writer") :author "ann" :at "2025-11-10T00:00:00.000Z" :changed "2025-11-10T00:00:00.000Z")

(-> (get-decision "one-flock") :related :files first)
;=> "src/store/registry.rs"

(get-in (get-decision "one-flock") [:related :principles])
;=> ("one-writer")

(if-let [d (get-decision "no-such-thing")] (:rationale d) "not recorded")
;=> "not recorded"

(when-let [f (get-file-understanding "src/sys/flock.rs")] (:symbols f))
;=> ("Guard" "lock")

(select-keys (get-decision "one-flock") [:name :status :impact])
;=> (:name "one-flock" :status active :impact 8)

(clojure.string/join ", " (map :name (get-patterns)))
;=> "guard-value, staged-change"

(filter #(clojure.string/includes? (:description %) "lock") (get-records))
;=> (table (:name :kind :status :confidence :description :type :from :to)
;    ("one-flock" decision active 0.9 "One flock guards all names." nil nil nil)
;    ("guard-value" pattern nil 0.75 "A lock is a value that is dropped." "concurrency" nil nil)
;    ("sys-flock" file nil 0.75 "Takes and gives locks." nil nil nil)
;    ("flock-supports-writer" relationship nil 0.75 "The lock makes the writer single." supports "one-flock" "one-writer"))

(map #(re-find #"\w+ writer" (:description %)) (get-principles))
;=> (nil "one writer")

(cond (empty? (get-stale)) "fresh" (> (count (get-stale)) 1) "several" :else "one")
;=> "several"

(case (:status (get-decision "one-flock")) "active" 1 "deprecated" 2 0)
;=> 1

(map-indexed (fn [i d] {:n i :name (:name d)}) (get-decisions))
;=> (table (:n :name)
;    (0 "file-per-message")
;    (1 "log-per-writer")
;    (2 "one-flock")
;    (3 "toml-config"))

(apply max-key :impact (filter :impact (get-decisions)))
;=> (:name "log-per-writer" :kind decision :status active :description "Each writer appends to a log of its own." :rationale "Two writers of one file lose data." :impact 9 :confidence 0.75 :basis read :verdict fresh :anchors ("src/store/log.rs") :supersedes ("decision/file-per-message") :author "bob" :at "2025-11-14T00:00:00.000Z" :changed "2025-11-14T00:00:00.000Z")

(distinct (mapcat :paths (get-records)))
;=> ("tests/chat.rs" "src/store/messages.rs" "src/store/log.rs" "src/store/names.rs" "src/sys/flock.rs")

#{1 2 3}
;=> (1 2 3)

(keys (group-by :status (get-decisions)))
;=> (superseded active deprecated)

(let [{:keys [description]} (get-principle "one-writer")] (subs description 0 9))
;=> "Each file"

;;; Common Lisp

(mapcar #'name (get-decisions))
;=> ("file-per-message" "log-per-writer" "one-flock" "toml-config")

(remove-if-not (lambda (p) (> (confidence p) 0.8)) (get-principles))
;=> ((:name "one-writer" :kind principle :description "Each file has one writer." :confidence 0.9 :basis tested :anchors ("src/store/log.rs:1-9") :evidence ("the crash sweep" "the storm test") :author "ann" :at "2025-11-12T00:00:00.000Z" :changed "2025-11-12T00:00:00.000Z"))

(mapcar (lambda (d) (cons (@ d :name) (@ d :status))) (get-decisions))
;=> (("file-per-message" superseded) ("log-per-writer" active) ("one-flock" active) ("toml-config" deprecated))

(length (get-decisions-by-status 'active))
;=> 2

(loop for d in (get-decisions) when (eq (@ d :status) 'active) collect (@ d :name))
;=> ("log-per-writer" "one-flock")

(loop for d in (get-decisions) sum (or (@ d :impact) 0))
;=> 22

(loop for i from 1 to 4 collect (* i i))
;=> (1 4 9 16)

(reduce #'+ (mapcar (lambda (d) (or (decision-impact d) 0)) (get-decisions)))
;=> 22

(reduce #'max '(3 9 2) :initial-value 0)
;=> 9

(sort (get-principles) #'> :key #'confidence)
;=> (table (:name :kind :description :confidence :basis :anchors :evidence :author :at :changed)
;    ("one-writer" principle "Each file has one writer." 0.9 tested ("src/store/log.rs:1-9") ("the crash sweep" "the storm test") "ann" "2025-11-12T00:00:00.000Z" "2025-11-12T00:00:00.000Z")
;    ("names-say-what" principle "A name says what a thing is." 0.7 told nil ("review of May") "cid" "2025-11-13T00:00:00.000Z" "2025-11-13T00:00:00.000Z"))

(sort (copy-list '(3 1 2)) #'<)
;=> (1 2 3)

(defun stale-names () (mapcar #'name (get-stale)))
(stale-names)
;=> ("tests-need-tty" "file-per-message")

(let ((d (get-decision "one-flock")) (x 2)) (list (getf (list :a x) :a) (@ d :impact)))
;=> (2 8)

(let* ((ds (get-decisions)) (n (length ds))) (format nil "~a decisions" n))
;=> "4 decisions"

(format nil "~a: ~,2f~%" "mean" (/ 5 2.0))
;=> "mean: 2.50\n"

(find "log-per-writer" (get-decisions) :key #'name :test #'string=)
;=> (:name "log-per-writer" :kind decision :status active :description "Each writer appends to a log of its own." :rationale "Two writers of one file lose data." :impact 9 :confidence 0.75 :basis read :verdict fresh :anchors ("src/store/log.rs") :supersedes ("decision/file-per-message") :author "bob" :at "2025-11-14T00:00:00.000Z" :changed "2025-11-14T00:00:00.000Z")

(find-if (lambda (r) (string= (@ r :author) "bob")) (get-tried))
;=> (:name "inotify-on-nfs" :kind tried :description "Watched an inbox on NFS." :rationale "inotify sees no changes of other machines." :confidence 0.75 :basis read :author "bob" :at "2025-11-13T00:00:00.000Z" :changed "2025-11-13T00:00:00.000Z")

(count-if (lambda (r) (equal (@ r :author) "ann")) (get-records))
;=> 7

(position 3 '(1 2 3))
;=> 2

(remove-duplicates (mapcar (lambda (r) (@ r :kind)) (get-records)) :test #'equal)
;=> (note tried decision principle pattern file relationship)

(when (get-stale) (progn (length (get-stale))))
;=> 2

(unless (get-tried) "nothing was tried")
;=> nil

(labels ((sum (xs) (if (null xs) 0 (+ (car xs) (sum (cdr xs)))))) (sum '(1 2 3)))
;=> 6

(flet ((twice (x) (* 2 x))) (mapcar #'twice '(1 2)))
;=> (2 4)

(cond ((> 1 2) 'more) (t 'less))
;=> less

(funcall (lambda (x &optional (y 2)) (list x y)) 1)
;=> (1 2)

(apply #'+ 1 2 '(3 4))
;=> 10

(mapcan #'evidence (get-principles))
;=> ("review of May" "the crash sweep" "the storm test")

(dolist (d (get-patterns)) (print (@ d :name)))
;=> ("guard-value" "staged-change")

(assoc :b '((:a . 1) (:b . 2)))
;=> (:b 2)

(string-downcase "ABC")
;=> "abc"

(remove nil (mapcar (lambda (d) (@ d :impact)) (get-decisions)))
;=> (5 9 8)

(every #'stringp (mapcar #'description (get-notes)))
;=> true

(gethash :a {:a 1 :b 2})
;=> 1
